"""The tests of the client. ``HOOKBOX_PROGRAM`` names the program."""
