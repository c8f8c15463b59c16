"""Fields that several pages use and that belong to no single one."""

from dpviz.fields import choice, flag, number

LOG_X = flag("logx")
LOG_Y = flag("logy")
AMPLIFICATION = choice("amp")
CLIP = choice("clip")
DELTA_MU = number("dmu")
FAILURE = number("gamma")
TRIED, LAW = number("tried"), choice("trylaw")  # of the search for settings of which a run is the best
