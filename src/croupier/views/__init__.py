"""Views of a run: they take plain data and return text and pictures.

``data`` defines the plain data, ``formats`` rounds numbers, ``content`` decides what the table
says, ``result_table`` renders it (text, rich, HTML), ``plots`` draws it, ``report`` makes a page of
everything (with ``svg``), ``live`` shows the progress of a run.
Nothing here knows the rest of the library, and importing it loads nothing heavier than numpy.
"""
