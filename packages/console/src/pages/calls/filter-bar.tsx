import type { ReactNode } from 'react';
import { useEffect, useRef, useState } from 'react';
import { limits } from 'quittance/internal/call/limits';
import { goTo } from '../../route.ts';
import { Icon } from '../../ui/icon.tsx';
import { IdInput } from '../../ui/id-input.tsx';
import type { CallsView, ViewField } from './calls-view.ts';
import { changeView, labelOfField, labelOfValue, spans, viewAddress } from './calls-view.ts';
import { ForeignId } from '../../ui/foreign-text.tsx';

const typingMs = 250;

/** Search, time and active filters, each removable. */
export function FilterBar({ view }: { readonly view: CallsView }): ReactNode {
  const set = (change: Partial<Record<ViewField, string | undefined>>): void =>
    goTo(viewAddress(changeView(view, change)));
  const chips = (Object.keys(view) as ViewField[]).filter((name) => name !== 'search' && name !== 'within');
  return (
    <div className="filter-bar">
      <SearchField view={view} />
      <select
        aria-label="Time"
        value={view.within ?? ''}
        onChange={(event) => set({ within: event.target.value || undefined })}
      >
        <option value="">Any time</option>
        {Object.entries(spans).map(([name, { label }]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </select>
      <label className="before">
        <span>Before</span>
        <input
          type="datetime-local"
          step={1}
          value={toLocal(view.until)}
          onChange={(event) => set({ until: fromLocal(event.target.value) })}
        />
      </label>
      {chips.map((name) => (
        <button key={name} type="button" className="filter-chip" onClick={() => set({ [name]: undefined })}>
          <span className="hidden">Remove filter</span> <span className="muted">{labelOfField(name)}</span>{' '}
          <span className="clip">
            <ForeignId id={labelOfValue(name, view[name] ?? '')} />
          </span>
          <Icon name="close" />
        </button>
      ))}
      {Object.keys(view).length > 0 && (
        <button type="button" className="ghost clear" onClick={() => goTo(viewAddress({}))}>
          Clear all
        </button>
      )}
    </div>
  );
}

/** The search text goes to the address after a pause in typing. A changed address updates the field. */
function SearchField({ view }: { readonly view: CallsView }): ReactNode {
  const wanted = view.search ?? '';
  const [text, setText] = useState(wanted);
  const sent = useRef(wanted);
  const latest = useRef(view);
  latest.current = view;
  useEffect(() => {
    if (wanted === sent.current) return;
    sent.current = wanted;
    setText(wanted);
  }, [wanted]);
  useEffect(() => {
    if (text === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = text;
      goTo(viewAddress(changeView(latest.current, { search: text })), { replace: true });
    }, typingMs);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label className="search-field">
      <Icon name="search" />
      <IdInput
        type="search"
        data-search
        aria-label="Search arguments, outputs, ids, people and messages"
        placeholder="Search, or args.cents>1000"
        title='Words in arguments, outputs, ids, users and messages. Conditions on arguments: args.cents>1000, args.to=ada@example.com, args.note="two words"'
        maxLength={limits.searchChars}
        value={text}
        onValue={setText}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return;
          setText('');
          event.currentTarget.blur();
        }}
      />
      <kbd aria-hidden="true">/</kbd>
    </label>
  );
}

/** Formats milliseconds since 1970 for the field: local time without a zone. */
function toLocal(until: string | undefined): string {
  const at = Number(until);
  if (until === undefined || !(at < 8.64e15)) return '';
  const date = new Date(at);
  return new Date(at - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

function fromLocal(typed: string): string | undefined {
  const at = typed === '' ? Number.NaN : new Date(typed).getTime();
  return at > 0 ? String(at) : undefined;
}
