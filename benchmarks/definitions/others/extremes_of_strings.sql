SELECT min(l_comment), max(l_comment)
FROM lineitem
