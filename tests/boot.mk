# The world side of the library: control, bring-up.
