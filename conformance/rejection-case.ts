import { isQuittanceError } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import { stringify } from 'yaml';
import type { Case, Problems } from './case.ts';
import { dataAt, holds, own, show, textAt, unknownKeys } from './case.ts';

/** Loads a document that must be refused for the right reason. */
export function runRejectionCase({ data }: Case): Problems {
  const expected = dataAt(data, 'expected');
  const problems = unknownKeys(expected, ['rejected', 'error_contains'], 'expected');
  const bundle = Object.hasOwn(data, 'bundle') ? own(data, 'bundle') : own(data, 'contract');
  const text = typeof bundle === 'string' ? bundle : stringify(bundle, { aliasDuplicateObjects: false });
  const part = textAt(expected, 'error_contains');
  try {
    contractsFromYamlString(text);
  } catch (error) {
    if (!isQuittanceError(error) || error.code !== 'contracts.invalid')
      return [...problems, `expected contracts.invalid, got ${String(error)}`];
    if (own(expected, 'rejected') === false)
      return [...problems, `expected the document to load, got ${error.message}`];
    if (part !== undefined && !holds(error.message, part))
      return [...problems, `expected an error that contains ${show(part)}, got ${show(error.message)}`];
    return problems;
  }
  return own(expected, 'rejected') === false
    ? problems
    : [...problems, `expected the document to be refused (${show(part)}), but it loaded`];
}
