# plugin
