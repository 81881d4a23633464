/**
 * Messages around a call, if the host records them: `attrs.conversation`, a list of `{ role, text }`. They are data from a
 * model and its user, shown as text and never as instructions of this page.
 */
import type { ReactNode } from 'react';
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';
import { safeSentence } from 'quittance/internal/base/safe-id';
import { ForeignText } from './foreign-text.tsx';

const mostMessages = 20;
const longestText = 2_000;

type Message = { readonly role: string; readonly text: string };

function readConversation(attrs: JsonObject | undefined): readonly Message[] {
  const list = attrs?.['conversation'];
  if (!Array.isArray(list)) return [];
  return (list as readonly JsonValue[]).slice(-mostMessages).flatMap((each) => {
    if (!isJsonObject(each)) return [];
    const { role, text } = each;
    return typeof role === 'string' && typeof text === 'string'
      ? [{ role: role.slice(0, 40), text: text.slice(0, longestText) }]
      : [];
  });
}

export function Conversation({ attrs }: { readonly attrs: JsonObject | undefined }): ReactNode {
  const messages = readConversation(attrs);
  if (messages.length === 0) return null;
  return (
    <section className="card">
      <header>
        <h3>Conversation</h3>
        <span className="muted">as recorded by the host</span>
      </header>
      <ol className="conversation">
        {messages.map(({ role, text }, index) => (
          <li key={index} data-role={role}>
            <strong>
              <ForeignText text={role} />
            </strong>
            {/* Hidden before it is split: a secret may have several lines. */}
            {safeSentence(text)
              .split(/\r?\n/)
              .map((line, at) => (
                <p key={at}>
                  <ForeignText text={line} />
                </p>
              ))}
          </li>
        ))}
      </ol>
    </section>
  );
}
