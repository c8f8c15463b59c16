"""Settings of questions and of training: how each is declared, read from what people type, and written for the eye."""

from dpviz.fields.declared import any_kind, choice, flag, number, several
from dpviz.fields.field import AnyField, Choice, Field, Flag, Number, Several, Text
