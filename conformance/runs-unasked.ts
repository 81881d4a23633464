import type { RuntimeOptions } from 'quittance';

/** Only contracts ask here: what the mode of a tool wants of people is another matter. */
export const runsUnasked: NonNullable<RuntimeOptions<[]>['treatments']> = {
  destructive: 'run',
  local: 'run',
};
