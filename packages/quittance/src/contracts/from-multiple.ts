import { checkObject } from '../base/check-keys.ts';
import { concatenateRules } from '../policy/compose/concatenate-rules.ts';
import type { SuccessCheck } from '../tool/success-check.ts';
import type { ContractsOptions } from './contracts-options.ts';
import type { ReadContracts } from './loaded-contracts.ts';
import { LoadedContracts } from './loaded-contracts.ts';

/**
 * Puts contracts side by side. Of two rules with one id the first counts, and so does the first success check; the
 * report says which were left out. One that is reloaded is reloaded here too. To have a
 * later document replace rules of an earlier one, load both with `contractsFromYaml`.
 */
export function contractsFromMultiple(
  parts: readonly LoadedContracts[],
  options: ContractsOptions = {},
): LoadedContracts {
  checkObject('contractsFromMultiple', options);
  const read = (): ReadContracts => {
    const all = parts.map((part) => part.read);
    const composed = concatenateRules(all.map((part) => part.composed));
    return {
      composed,
      documents: all.flatMap(({ documents }) => documents),
      files: all.flatMap(({ files }) => files),
    };
  };
  const successCheck: SuccessCheck | undefined =
    options.successCheck ?? parts.find((part) => part.successCheck !== undefined)?.successCheck;
  const joined = new LoadedContracts(read(), {
    ...options,
    ...(successCheck !== undefined && { successCheck }),
  });
  const stops = parts.map((part) =>
    part.onReplaced((how) => (how === 'at once' ? joined.replace(read()) : joined.replaceInSlices(read()))),
  );
  joined.closeWith(() => {
    for (const stop of stops) stop();
  });
  return joined;
}
