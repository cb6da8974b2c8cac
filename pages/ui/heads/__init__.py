"""The choice of a kind of attention, a layer and a head, and sentences about a head."""
