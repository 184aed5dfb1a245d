# Samples: an administrator takes them over; installing never changes what is in force.
dist_doc_DATA += etc/dtrain.conf etc/dtrain.plugstack.conf
