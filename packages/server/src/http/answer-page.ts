/** Answers of pages. */
import type { OpenedLogin } from './access.ts';

export const answerPage = (text: string, status = 200): Response =>
  new Response(text, {
    status,
    headers: { 'content-type': 'text/html; charset=utf-8' },
  });

/**
 * Redirects without the code in the URL. The page key follows the #, which browsers do not send to servers. A page of
 * this server stores the key for its origin and opens the page that was asked for.
 */
export const welcome = ({ cookie, pageKey }: OpenedLogin, to = '/'): Response =>
  new Response(null, {
    status: 303,
    headers: {
      location: `/login/done#page-key=${pageKey}${to === '/' ? '' : `&to=${encodeURIComponent(to)}`}`,
      'set-cookie': cookie,
    },
  });
