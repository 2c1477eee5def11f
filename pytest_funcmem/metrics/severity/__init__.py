"""How much logic worth protecting a function holds, from 1 to 10: by its syntax tree, a judge, or labels."""
