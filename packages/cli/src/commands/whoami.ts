import type { CliCommand } from '../command.ts';
import { jsonOption, reads } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { readCredential } from '../server/credentials.ts';
import { describeMe } from '../server/describe-me.ts';
import { connectTo, serverOf } from '../server/server-client.ts';
import { safeJson } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';

export const whoamiCommand: CliCommand = {
  name: 'whoami',
  summary: 'Show who you are at a server',
  about: ['Asks the server, so it also says whether the sign-in is still valid. Exit code 1: it is not.'],
  options: {
    server: { value: 'URL', help: 'Server; default: QUITTANCE_SERVER, else the last one you signed in to' },
    json: jsonOption,
  },
  examples: [['quittance whoami', 'name, role, issuer and subject']],
  effect: reads,
  async run(given, context) {
    const server = serverOf(given, context) ?? readCredential(context.env, undefined)?.server;
    if (server === undefined)
      throw new UsageError(
        'You are not signed in.',
        ['quittance login https://quittance.example.org'],
        exitCodes.bad,
      );
    const me = await connectTo(given, context, server).get('/v1/me');
    if (given.has('json')) await context.out.print(safeJson(me));
    else await context.out.say(`${describeMe(me)} at ${server}`);
    return exitCodes.good;
  },
};
