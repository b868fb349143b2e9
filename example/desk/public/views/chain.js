/** Whose data an API behind the orders API showed, and who stood in between: alice ← sam ← orders-api. */
export const chainOf = ({ customer, actor, through }) =>
  [customer, ...(actor ? [actor.sub] : []), ...through.toReversed()].join(' ← ')
