SELECT count(*)
FROM lineitem
WHERE l_comment LIKE 'a%'
