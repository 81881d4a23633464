/** Replaces a part of a text field as if it was typed, so that undo works. */
export function insertText(field: HTMLTextAreaElement, text: string, from: number, to: number): void {
  field.focus();
  field.setSelectionRange(from, to);
  // Deprecated, but the only way that keeps the undo history. Every browser has it.
  if (document.execCommand('insertText', false, text)) return;
  field.setRangeText(text, from, to, 'end');
  field.dispatchEvent(new Event('input', { bubbles: true }));
}

/** A new line with the indentation of this one. After `key:` it is one step deeper, after `- key: x` below the key. */
export function newLineAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset);
  const lead = /^ *(?:- +)*/.exec(line)?.[0] ?? '';
  const indent = ' '.repeat(lead.length);
  return `\n${indent}${/:\s*$/.test(line) ? '  ' : ''}`;
}
