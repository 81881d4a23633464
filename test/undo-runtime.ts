/** The runtime of a note book, for commands that undo calls. */
import { createRuntime, defineTool } from 'quittance';
import type { OpenLedger } from 'quittance/store';

const notes = new Set<string>();

const addNote = defineTool({
  name: 'add_note',
  mode: 'destructive',
  run: ({ text }) => {
    notes.add(JSON.stringify(text));
    return { notes: notes.size };
  },
  undo: ({ text }: { text?: unknown }) => ({ removed: notes.delete(JSON.stringify(text)) }),
});

export default (ledger: OpenLedger) => createRuntime({ tools: [addNote], ledger });
