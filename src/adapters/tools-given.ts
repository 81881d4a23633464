/** Whether an adapter was given its tools in the form its framework keeps them in. */
import { QuittanceError } from '../base/error.ts';
import { describeValue } from '../tool/describe-value.ts';
import type { Adapter } from './framework-version.ts';

export function refuseNoList(adapter: Adapter, tools: unknown): void {
  if (Array.isArray(tools)) return;
  throw new QuittanceError(
    'config.invalid',
    `governTools of ${adapter} takes a list of tools, as in governTools([search, refund]). Found ${describeValue(tools)}.`,
  );
}

export function refuseNoRecord(adapter: Adapter, tools: unknown): void {
  if (typeof tools === 'object' && tools !== null && !Array.isArray(tools)) return;
  throw new QuittanceError(
    'config.invalid',
    `governTools of ${adapter} takes an object with a tool under each name, as in governTools({ search, refund }). ` +
      `Found ${describeValue(tools)}.`,
  );
}
