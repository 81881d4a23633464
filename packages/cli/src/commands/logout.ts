import type { CliCommand } from '../command.ts';
import { makes } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { readCredential, removeCredential } from '../server/credentials.ts';
import { request, serverOf } from '../server/server-client.ts';
import { UsageError } from '../usage-error.ts';

export const logoutCommand: CliCommand = {
  name: 'logout',
  summary: 'End the sign-in of this command line at a server',
  about: ['Ends the sign-in at the server and removes its credentials from this machine.'],
  options: { server: { value: 'URL', help: 'Server; default: the last one you signed in to' } },
  examples: [['quittance logout', 'sign out']],
  effect: makes,
  async run(given, context) {
    const credential = readCredential(context.env, serverOf(given, context));
    if (credential === undefined)
      throw new UsageError(
        'You are not signed in.',
        ['quittance login https://quittance.example.org'],
        exitCodes.bad,
      );
    const { server, token } = credential;
    // The file is removed first: without it the sign-in is of no use here, whatever the server answers.
    removeCredential(context.env, server);
    const { status } = await request(server, '/logout', { method: 'POST' }, token, context.signal);
    const isEnded = status < 300 || status === 401;
    await context.out.say(
      isEnded
        ? `Signed out of ${server}.`
        : `The credentials were removed, but ${server} answered with status ${status}. The sign-in there will expire.`,
    );
    return isEnded ? exitCodes.good : exitCodes.bad;
  },
};
