/** The recorded name of a worker: the name of its token, a slash, and its own name. */
import type { Actor } from './actor.ts';
import { nameSeparator } from 'quittance/internal/call/limits';
import { HttpRefusal } from './problem.ts';

export function workerName({ name }: Actor, worker: string | undefined): string {
  if (worker === undefined) return name;
  const found = [name, worker].find((part) => part.includes(nameSeparator));
  if (found === undefined) return `${name}${nameSeparator}${worker}`;
  throw new HttpRefusal(
    'http.bad_request',
    found === worker
      ? `A worker's name may not hold "${nameSeparator}", which joins it to the name of its token. Found ${JSON.stringify(worker)}.`
      : `The name of the token, ${JSON.stringify(name)}, holds "${nameSeparator}", which joins it to the name of a worker. Leave worker out, or use a token with another name.`,
  );
}
