SELECT sum(length(l_comment)), max(length(l_comment))
FROM lineitem
