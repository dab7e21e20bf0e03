"""Scripts that make the site, the gallery, the moving picture and the files of a release."""
