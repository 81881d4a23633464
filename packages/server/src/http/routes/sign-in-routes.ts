import { HttpRefusal } from '../problem.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import type { Service } from '../service.ts';
import type { SignIns } from '../sign-in/sign-ins.ts';
import { toSignInView } from '../sign-in/sign-in-view.ts';

export const signInRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/v1/sign-ins',
    access: 'admin',
    summary: 'Lists the people who are signed in.',
    answer: 'SignInList',
    async handle({ service }) {
      await service.signIns?.refresh();
      return { signIns: (service.signIns?.list() ?? []).map(toSignInView) };
    },
  }),
  // Before the route with an id: the router takes the first path that fits.
  defineRoute({
    method: 'POST',
    path: '/v1/sign-ins/end',
    access: 'admin',
    summary: 'Ends all sign-ins of a person, in browsers and on command lines.',
    body: 'SignInsToEnd',
    answer: 'EndedSignIns',
    async handle({ service, body: { issuer, subject } }) {
      const signIns = await current(service);
      return { ended: await signIns.endPerson(issuer, subject) };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/v1/sign-ins/{signInId}',
    access: 'admin',
    summary: 'Ends one sign-in. Decision links that the person made become invalid.',
    answer: 'EndedSignIns',
    async handle({ service, params }) {
      const signIns = await current(service);
      if ((await signIns.end(params.signInId, 'forget person')) === undefined)
        throw new HttpRefusal('http.not_found', 'There is no such sign-in. GET /v1/sign-ins lists them.');
      return { ended: 1 };
    },
  }),
];

async function current({ signIns }: Service): Promise<SignIns> {
  if (signIns === undefined)
    throw new HttpRefusal(
      'http.not_available',
      'This server has no identity provider. Start it with --sign-in-issuer.',
    );
  await signIns.refresh();
  return signIns;
}
