"""Steps chosen as one goes: filters, odometers, individual filters, and the policies that use them."""
