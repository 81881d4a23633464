/** The parameters of the URL of a PostgreSQL ledger. Those that are not ours are for the driver, which ignores unknown ones. */
import { isSlipOf } from '../../base/nearest.ts';

/** Parameters that are ours. */
export const ownParameters = ['schema', 'listen', 'writers', 'readers', 'owner_lease_ms'] as const;

/** Options of `openLedger` that a URL cannot set. */
const optionsOnly = ['spillFolder', 'spillBytes', 'sealKey', 'sealKeyFile', 'readOnly', 'maxQueued'];
const otherOptions = [...optionsOnly, 'outageWaitMs', 'migrate'];

const mostSlips = 2;

export const sslModes: readonly string[] = [
  'disable',
  'prefer',
  'require',
  'verify-ca',
  'verify-full',
  'no-verify',
];

/** Describes the first mistake, as the end of a sentence. Undefined for correct parameters: a typing error must not select another schema. */
export function findParameterMistake(parameters: URLSearchParams): string | undefined {
  const mode = parameters.get('sslmode');
  if (mode !== null && !sslModes.includes(mode))
    return `has an unknown sslmode. Known modes: ${sslModes.join(', ')}`;
  for (const name of parameters.keys()) {
    if (ownParameters.some((own) => own === name)) continue;
    if (name === 'service') return 'names a service, which the driver cannot look up; write the host instead';
    const meant = ownParameters.find((own) => isSlipOf(name, own, mostSlips));
    if (meant !== undefined)
      return `has an unknown parameter ${JSON.stringify(name)}; did you mean "${meant}"?`;
    if (otherOptions.some((option) => isSame(option, name)))
      return `has the parameter ${JSON.stringify(name)}, which is an option of openLedger and not of a URL`;
  }
  return undefined;
}

const isSame = (option: string, name: string): boolean =>
  option.toLowerCase() === name.toLowerCase().replaceAll('_', '');

/** The driver verifies the certificate in these modes. A later version of it will not, unless the URL says so. */
const verified = new Set(['prefer', 'require', 'verify-ca']);

export function pinSslMode(parameters: URLSearchParams): void {
  if (verified.has(parameters.get('sslmode') ?? '') && parameters.get('uselibpqcompat') !== 'true')
    parameters.set('sslmode', 'verify-full');
}
