/** How the counters of one session begin; those of other names belong to nobody and stay. */
export const sessionCounterPrefixes = (sessionId: string): readonly [session: string, turns: string] => {
  const quoted = JSON.stringify(sessionId);
  return [`session/${quoted}/`, `turn/[${quoted},`];
};
