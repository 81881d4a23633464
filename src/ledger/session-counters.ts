/** Prefixes of one session's counters; other counters are shared and stay. */
export const sessionCounterPrefixes = (sessionId: string): readonly [session: string, turns: string] => {
  const quoted = JSON.stringify(sessionId);
  return [`session/${quoted}/`, `turn/[${quoted},`];
};
