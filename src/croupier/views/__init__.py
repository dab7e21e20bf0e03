"""Looking at a run: plain data in, text and pictures out.

``data`` says what goes in, ``formats`` rounds numbers, ``content`` decides what the table says,
``table`` renders it (text, rich, HTML), ``plots`` draws it, ``report`` makes a page of it all (with
``svg``), ``live`` shows a run that is under way.
Nothing here knows the rest of the library, and importing it loads nothing heavier than numpy.
"""
