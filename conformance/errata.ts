/** Public cases that are wrong as written. They count as failed and are listed with the reason; no other failure is. */
export const errata: ReadonlyMap<string, string> = new Map([
  ['adv-inject-002', 'expects a literal `contains` of a text that does not occur in the input'],
  ['wcg-001', 'its last step holds an unquoted YAML scalar that parses as a map'],
]);
