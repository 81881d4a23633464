import type { RuntimeOptions } from 'quittance';

/** Only contracts ask for approval here: the treatment of tool modes is not under test. */
export const runsUnasked: NonNullable<RuntimeOptions<[]>['treatments']> = {
  destructive: 'run',
  local: 'run',
};
