/**
 * Hostile values from end to end. An agent sends them over HTTP, and a person reads and approves them in the console. The
 * tool gets exactly what was sent, and every page shows it as text.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { createRuntime, defineTool } from 'quittance';
import type { JsonObject, JsonValue, Runtime } from 'quittance';
import { openLedger } from 'quittance/ledger';
import type { OpenLedger } from 'quittance/store';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { approve, untilStill } from '../approve.ts';
import { untilDecided } from '../until-decided.ts';
import { findHidden, hostileText } from './find-hidden.ts';
import { keepVisitors } from './keep-visitors.ts';
import { readWhole } from './read-whole.ts';
import type { Stage } from './stage.ts';
import { openStage } from './stage.ts';

const markup =
  '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script><svg/onload=window.hacked=1>';
const groups: Readonly<Record<string, readonly string[]>> = {
  'markup and code': [
    markup,
    `</bdi></pre></div></article></main>${markup}<button>Approve</button>`,
    `</script></style>-->]]>${markup}<style>*{display:none}</style>`,
    `[Approve](javascript:window.hacked=1) javascript:window.hacked=1 data:text/html,${markup}`,
    '{{constructor.constructor("window.hacked=1")()}} ${window.hacked=1} <%= window.hacked=1 %>',
  ],
  'control characters and line ends': [
    'a\u0000\u0001\u0007\u0008\u001b[2J\u001b]0;x\u0007\u007f\u0085\u009b31mb',
    'a\nApproved by: Ada\r\nReason: fine\u2028Fee: 1\u2029\u000bFee: 2\u000cFee: 3\u0085Fee: 4',
  ],
  'directions, invisible characters and lookalikes': [
    '\u202e\u2066txt.exe\u2069 100\u200f \u05e9\u05dc\u05dd 900 \u061c\u202c',
    'pay\u200b\u200c\u200d\u2060\ufeff\u00ad\u{e0041}\u{e007f}\ufe0f\u3164\u2800me',
    'p\u0430yp\u0430l.com \u0430dmin \uff21\uff30\uff30\uff32\uff2f\uff36\uff25\uff24 \u{1d400}\u{1d429}\u{1d429} \u217c00',
    '\ue000\uf8ff\u{f0000}\u{10fffd}\ufdd0\u{1fffe}\u0378',
    hostileText,
  ],
  'very long and very high values': [
    'w'.repeat(20_000),
    'pay me now\n'.repeat(1_000),
    `{"to":"bob",${' '.repeat(300)}"amount": 1${'\t'.repeat(200)}}`,
    `Z${'\u0300\u0316\u0489'.repeat(200)}o`,
  ],
};

const folder = mkdtempSync(join(tmpdir(), 'quittance-hostile-'));
const ran: unknown[] = [];
let ledger: OpenLedger;
let runtime: Runtime;
let stage: Stage;
beforeAll(async () => {
  const ledgerPath = join(folder, 'ledger.db');
  ledger = await openLedger(ledgerPath);
  runtime = createRuntime({
    ledger,
    tools: [
      defineTool({
        name: 'pay',
        mode: 'destructive',
        input: { type: 'object' },
        run: (args) => {
          ran.push(args);
          return { paid: args as JsonValue };
        },
      }),
    ],
  }) as unknown as Runtime;
  stage = await openStage({ ledgerPath, server: { runtime, tools: runtime.tools } });
});
afterAll(async () => {
  await stage.close();
  await runtime.close();
  await ledger.close();
  rmSync(folder, { recursive: true, force: true });
});
// A denial of the browser to load something is what these values ask for.
const visit = keepVisitors(() => stage, /Content Security Policy/);

async function post(path: string, body: object, as: 'operator' | 'approver' = 'operator'): Promise<unknown> {
  const response = await fetch(`${stage.server.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stage.tokens[as]}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer: unknown = await response.json();
  if (!response.ok) throw new Error(JSON.stringify(answer));
  return answer;
}

/** What a hostile value did to a page. Empty if it is only text. */
async function damageOf(page: Page): Promise<readonly string[]> {
  await page.locator('.skeleton').first().waitFor({ state: 'detached' });
  await page.evaluate(() => document.querySelectorAll('details').forEach((each) => (each.open = true)));
  const found = await page.evaluate(() => {
    const damage: string[] = [];
    if ('hacked' in window) damage.push('a script of the value ran');
    if (document.querySelector('img[src="x"], [onload], [onerror], script:not([src])') !== null)
      damage.push('the value became an element');
    for (const link of document.querySelectorAll('a[href], form[action], iframe, object'))
      if (
        /^(?:javascript|data|vbscript):/i.test(link.getAttribute('href') ?? link.getAttribute('action') ?? '')
      )
        damage.push('the value became a link');
    if (document.documentElement.scrollWidth > window.innerWidth) damage.push('the page scrolls sideways');
    // A text of several lines is in a box of its own, under the name of its argument.
    for (const box of document.querySelectorAll<HTMLElement>('.qt-json-box')) {
      if (getComputedStyle(box).display !== 'block') damage.push('a text has no box of its own');
      box.style.display = 'none';
    }
    const line = /[\n\r\u2028\u2029\u0085]\s*((?:Approved by|Reason: fine|Fee: ).*)/u.exec(
      document.body.innerText,
    );
    if (line !== null) damage.push(`the value begins a line: ${line[1]?.slice(0, 60)}`);
    for (const box of document.querySelectorAll<HTMLElement>('.qt-json-box')) box.style.display = '';
    for (const each of document.querySelectorAll('main *')) {
      const { top } = each.getBoundingClientRect();
      if (top + window.scrollY < 0) damage.push(`<${each.tagName}> is drawn above the page`);
    }
    return damage;
  });
  return [...found, ...(await findHidden(page))];
}

let count = 0;

const sent: { readonly sessionId: string; readonly callId: string }[] = [];

test.each(Object.entries(groups))(
  'a person approves %s, and the tool gets what was sent',
  async (_, group) => {
    const id = ++count;
    // Ids hold no control characters and have a length.
    const name = group
      .join(' ')
      .replaceAll(/\p{Cc}|\p{Cn}|\p{Zl}|\p{Zp}/gu, '')
      .slice(0, 250);
    const [sessionId, callId] = [`s${id} ${name}`, `c${id} ${name}`];
    const args: JsonObject = {
      ...Object.fromEntries(group.map((each, index) => [`to_${index}`, each])),
      ...Object.fromEntries(group.map((each) => [`${each.slice(0, 300)} key`, 1])),
      deep: [{ list: group.map((each) => each.slice(0, 1_000)) }],
      amount: 100,
    };
    const asks = {
      sessionId,
      call: { id: callId, name: 'pay', arguments: args },
      principal: { userId: name, role: name },
      attrs: { note: group.join(' ').slice(0, 2_000) },
    };
    const held = (await untilDecided(() => post('/v1/calls', asks))) as {
      readonly decision: string;
      readonly confirmationId: string;
    };
    expect(held.decision).toBe('held');
    const { page, goTo } = await visit({ as: 'approver' });
    await goTo(`/inbox/${held.confirmationId}`);
    const article = page.locator('article.question');
    await untilStill(page.locator('article.question[data-seen="true"]'));
    expect(await damageOf(page)).toEqual([]);
    expect(await article.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(1);
    // The arguments are longer than their box.
    await readWhole(article);
    await approve(article);
    await expect
      .poll(() => page.locator('.verdict').allTextContents())
      .toEqual([expect.stringContaining('You approved this.')]);
    await expect.poll(() => ran.at(-1)).toEqual(args);
    await post('/v1/grants', { sessionId, toolName: 'pay_*', uses: 1, reason: name || 'none' }, 'approver');
    // The link of the list leads to this call.
    await goTo(`/calls?session=${encodeURIComponent(sessionId)}`);
    await page.locator('main a[href*="/calls/"]').first().click();
    await expect
      .poll(() => decodeURIComponent(new URL(page.url()).pathname))
      .toBe(`/calls/${sessionId}/${callId}`);
    expect(await damageOf(page)).toEqual([]);
    sent.push({ sessionId, callId });
  },
);

test('every list shows all of them as text', async () => {
  expect(sent).toHaveLength(Object.keys(groups).length);
  const { page, goTo } = await visit({ as: 'approver' });
  for (const address of [
    '/',
    '/calls',
    '/sessions',
    '/inbox?tab=decided',
    '/inbox?tab=grants',
    ...sent.map(({ sessionId }) => `/sessions/${encodeURIComponent(sessionId)}`),
  ]) {
    await goTo(address);
    expect([address, await damageOf(page)]).toEqual([address, []]);
  }
});
