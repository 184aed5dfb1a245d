# lab
