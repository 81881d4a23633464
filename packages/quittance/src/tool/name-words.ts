/**
 * The meaning of the words of a tool's name. The table of the source document comes first (mode.ts); these words
 * apply to names that are not in it.
 *
 * The lists were collected from the operation names of public API clients and from public lists of verbs. A third of
 * the names in test/operation-names.txt is held out: it is only measured, by `npm run tool-names`.
 */
/** What a mistake with a tool could cost, beyond what its mode says. */
export const toolRisks = ['money', 'credentials', 'sharing', 'publishing', 'code', 'production'] as const;
export type ToolRisk = (typeof toolRisks)[number];

const listOf = (text: string): readonly string[] => Object.freeze(text.split(' '));

/** Words of tool names, by what they say about the tool. */
export const toolNameWords: {
  readonly [
    List in 'remove' | 'removeOrNoun' | 'removal' | 'read' | 'readLast' | 'write' | 'writeOrNoun'
  ]: readonly string[];
} & { readonly risk: { readonly [Risk in ToolRisk]: readonly string[] } } = Object.freeze({
  /** Verbs that take something away. Anywhere in a name they make the tool destructive. */
  remove: listOf(
    'delete del deletes remove removes rm rmdir unlink destroy erase purge wipe truncate terminate kill cancel uninstall ' +
      'revoke nuke shred overwrite discard expunge decommission deprovision evict clear prune flush abort drop archive ' +
      'detach disassociate dissociate disconnect disable deactivate deregister deallocate deauthorize deauthorise delist ' +
      'demote deprecate dequeue deindex disallow disband dissolve dismantle disenroll disown unassign unbind ' +
      'unenroll unfavorite unfavourite unfollow unfriend ungroup uninvite unjoin unlike unlist unload unmap unmount ' +
      'unpin unlabel unpeer unmonitor unpublish unregister unschedule unset unshare unstar unsubscribe untag unwatch undeploy unprovision ' +
      'unprotect unverify untrust unapprove invalidate suspend expel evacuate obliterate annihilate eradicate ' +
      'drain cordon reimage reformat mkfs zeroize redact anonymize anonymise offboard rescind nullify sever cull yank burn ' +
      'relinquish eject unpair unplug unsend unpost unmerge blacklist blocklist scrap rmi rmtree dropdb droptable ' +
      'clobber deduplicate dedupe vacuum strip scrub dispose abandon halt poweroff unstake zap teardown shutdown cleanup takedown rollback withdraw retract ' +
      'lrem srem zrem hdel xdel getdel ltrim xtrim lpop rpop spop blpop brpop zpopmin zpopmax bzpopmin bzpopmax lmpop ' +
      'zmpop zremrangebylex zremrangebyrank zremrangebyscore flushall flushdb',
  ),
  /** Those that are also nouns or adjectives: not counted after a read or write verb, except after `and`, `or`, `then`. */
  removeOrNoun: listOf(
    'trash junk reset empty void ban kick expire retire revert recall lapse sunset forfeit',
  ),
  /** Nouns of such verbs: `schedule_key_deletion`. Not counted in a name that reads. */
  removal: listOf(
    'deletion deletions removal erasure destruction termination cancellation revocation deactivation decommissioning ' +
      'deregistration eviction uninstallation disposal purging wiping',
  ),
  /** Verbs that look at something. They say less than the table: see `surelyReads`. */
  read: listOf(
    'find lookup look check calculate describe count fetch show view inspect estimate compare explain preview ' +
      'get list read search retrieve grep glob ls stat query peek scan validate analyze analyse summarize ' +
      'summarise diff poll detect enumerate discover identify whois whoami head tail lint simulate parse',
  ),
  /** Words that make a name a read at its end: `issue_read`, `pods_list`, `server_status`. */
  readLast: listOf(
    'find lookup count fetch show view inspect get list read search retrieve query describe status stats info details ' +
      'history metadata summary',
  ),
  /** Verbs that change something. A name with one of these is not a read. */
  write: listOf(
    'create update add write replace save insert put submit apply modify edit move rename upload publish merge approve ' +
      'reject assign buy pay refund start stop restart enable install deploy execute trigger invoke make register ' +
      'sync upsert append increment decrement close reopen unlock grant invite subscribe reply notify fix repair migrate ' +
      'convert send push download export verify resolve ping activate accept acknowledge adjust allocate amend attach ' +
      'associate authorize authorise bind calibrate compile complete confirm crawl decline defer deny dispatch duplicate ' +
      'elevate enqueue enroll escalate fill finalize finish follow generate give hide impersonate ingest init ' +
      'initialize initiate inject kickoff launch login logout lower pause perform promote protect provision reboot ' +
      'rebuild recompute reconfigure recover redeploy redirect reindex remediate renew reprocess reroute resend resize ' +
      'respond restore resume retry rewrite rotate rsvp sell serve silence skip snooze spawn supersede tick toggle ' +
      'transcode unarchive unban unblock undelete unfreeze unhide unmute unpause unsuspend unzip wake warm hover ' +
      'navigate speak swap lpush rpush sadd hset zadd xadd setex setnx mset incr decr incrby decrby linsert lset hincrby',
  ),
  /**
   * Verbs that are also nouns (`find_order`). They count as verbs at the start of a name, and after `and`, `or`, `then`.
   * Those of `verbFirst` count before every read word.
   */
  writeOrNoun: listOf(
    'set store post patch change copy commit book order transfer charge schedule run lock email format exec return ' +
      'exchange deposit release tag mail message call comment log report request review test build plan control access ' +
      'cast draw print scale share support use mark block stage trade bid bet tip type refresh claim record link connect ' +
      'stream pin tune turn star vote watch delegate handle process produce backup upgrade import override split shift ' +
      'seed sign keep leave join play wire zip ship click press drag scroll screenshot clone reserve mount mute index ' +
      'open force forward failover tell switch compute',
  ),
  /** What a mistake could cost. Not asked of names that read. */
  risk: Object.freeze({
    money: listOf(
      'pay payment payments payout payouts refund refunds charge charges purchase buy sell money fund funds wire deposit ' +
        'withdraw withdrawal invoice invoices bill billing bank donate donation checkout trade payroll salary ' +
        'reimburse reimbursement transaction transactions crypto wallet loan credit debit remit remittance bet bid ' +
        'stake swap tip transfer chargeback chargebacks escrow',
    ),
    credentials: listOf(
      'password passwords passphrase passcode secret secrets credential credentials token tokens key keys apikey apikeys ' +
        'otp totp mfa sso certificate certificates cert certs ssh admin admins administrator grant grants permission ' +
        'permissions role roles privilege privileges iam acl acls sudo owner ownership impersonate elevate authorize ' +
        'authorise access',
    ),
    sharing: listOf(
      'share shares invite invites invitation invitations collaborator collaborators guest guests forward expose',
    ),
    publishing: listOf(
      'publish unpublish republish tweet retweet broadcast announce announcement syndicate livestream public newsletter visibility',
    ),
    code: listOf(
      'sql eval evaluate exec execute script scripts shell command commands code macro cron crontab merge commit',
    ),
    production: listOf(
      'production prod deploy redeploy deployment deployments rollout rollback failover terraform kubectl helm infrastructure dns firewall',
    ),
  }),
});

const sets = {
  remove: new Set(toolNameWords.remove),
  removeOrNoun: new Set(toolNameWords.removeOrNoun),
  removal: new Set(toolNameWords.removal),
  read: new Set(toolNameWords.read),
  readLast: new Set(toolNameWords.readLast),
  write: new Set(toolNameWords.write),
  writeOrNoun: new Set(toolNameWords.writeOrNoun),
} as const;

/** More verb than noun: `kubernetes_patch_pod_status` changes something, `order_get` does not. */
const verbFirst = words(
  'set patch change copy commit post run exec lock mark call refresh connect link import join leave sign clone mount press ' +
    'click force forward switch turn open',
);
/** Words of `readLast` that are verbs. After the others, every verb counts. */
const readVerbLast = words('find lookup fetch get list read search retrieve query describe');

/** Two words that take something away together. */
const removePhrases: ReadonlySet<string> = new Set([
  'force push', 'force merge', 'get rid', 'power off', 'cut off', 'break lease', 'tear down', 'take down', 'shut down', 'clean up', 'roll back', 'opt out', 'log off',
  'write off', 'close account', 'let expire', 'pull down', 'wind down', 'hard reset', 'factory reset', 'to trash',
  'to bin', 'to junk', 'mark deleted', 'as deleted', 'set deleted', 'mark inactive', 'as inactive', 'set inactive',
  'as obsolete', 'as expired', 'format disk', 'format drive', 'format volume', 'format partition', 'leave group',
  'leave channel', 'leave team', 'leave organization', 'leave workspace', 'leave conversation', 'leave chat',
]); // oxfmt-ignore

/** First words of tools that run their input. Every other word of such a name is one of `shellCompanions`. */
const shellWords: ReadonlySet<string> = words(
  'bash sh zsh shell exec execute cmd command commands terminal powershell pwsh subprocess',
);
const shellCompanions: ReadonlySet<string> = words(
  'run start local a the in on code script process tool line once',
);

/** Verbs that may be joined to a name without a separator: `deleteaccount`. */
const gluedVerb =
  /^(?:delete|destroy|erase|purge|wipe|uninstall|truncate|flush|remove|revoke)(?!r|d\b|d$|ing$)[a-z]{3,}$/;

/** The words of a name in lower case, split at camelCase, dots, dashes, underscores and slashes. */
export function splitNameWords(name: string): readonly string[] {
  return name
    .normalize('NFKC')
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .map((word) => word.replace(/\d+$/, ''))
    .filter((word) => word !== '');
}

/** Removes the server prefix of a tool name: `mcp__files__read`, `files.read`, `files/read`. */
export const withoutServer = (name: string): string =>
  name.replace(/^mcp__.+?__(?=.)/i, '').replace(/^.*[./:](?=[^./:])/s, '');

/** Does a word of the name take something away? `own`: the words after the server. */
export function hasDestructiveWord(all: readonly string[], own: readonly string[]): boolean {
  const verb = leadingVerb(own);
  const reads = verb === 'read' || endsAsRead(own);
  return all.some((word, index) => {
    if (gluedVerb.test(word) || removePhrases.has(`${word} ${all[index + 1] ?? ''}`)) return true;
    if (isJoined(all, index) && (sets.remove.has(word) || sets.removeOrNoun.has(word))) return true;
    if (sets.remove.has(word)) return !(reads && nounsToo.has(word));
    if (sets.removal.has(word)) return !reads;
    return sets.removeOrNoun.has(word) && verb !== 'read' && (verb !== 'write' || index === 0);
  });
}

/** Verbs above that are also nouns, but only in a name that reads: `search_archive`. */
const nounsToo = words('archive drop kill cancel clear');

/** What the first verb of a name does. Words that are also nouns are verbs only at the start. */
function leadingVerb(own: readonly string[]): 'read' | 'write' | 'remove' | undefined {
  for (const [index, word] of own.entries()) {
    if (sets.remove.has(word) || (index === 0 && sets.removeOrNoun.has(word))) return 'remove';
    if (sets.write.has(word) || (index === 0 && sets.writeOrNoun.has(word))) return 'write';
    if (sets.read.has(word)) return 'read';
  }
  return undefined;
}

const endsAsRead = (own: readonly string[]): boolean => own.length > 1 && sets.readLast.has(own.at(-1) ?? '');

/** `get_or_create`: the word after the conjunction counts too. */
export const alsoWrites = (own: readonly string[]): boolean =>
  own.some((word, index) => (sets.write.has(word) || sets.writeOrNoun.has(word)) && isJoined(own, index));

/** A read verb before any other verb, or at the end. `check out` and `look after` are separate verbs. */
export const looksLikeRead = (own: readonly string[]): boolean =>
  (readsFirst(own) || readsLast(own)) &&
  !own.some(
    (word, index) => /^(?:check|look)$/.test(word) && /^(?:in|out|off|after)$/.test(own[index + 1] ?? ''),
  ) &&
  !own.some((word) => sets.write.has(word)) &&
  !runsAnyQuery(own) &&
  !alsoWrites(own);

/** A query in a language that can also write: `query`, `sql_query`. Its text decides. */
const runsAnyQuery = (own: readonly string[]): boolean =>
  own.includes('query') && (own.length === 1 || own.some((word) => queried.has(word)));
const queried = words(
  'sql db database mysql postgres postgresql pg sqlite mssql oracle mongodb redis graphql cypher run',
);

function readsFirst(own: readonly string[]): boolean {
  if (leadingVerb(own) !== 'read') return false;
  const verb = own.findIndex((word) => sets.read.has(word));
  return !own.slice(0, verb).some((word) => verbFirst.has(word));
}

/** `order_get` and `server_status`, but not `set_list` or `report_status`. */
const readsLast = (own: readonly string[]): boolean =>
  endsAsRead(own) &&
  !own.slice(0, -1).some((word) => verbFirst.has(word)) &&
  (readVerbLast.has(own.at(-1) ?? '') || !sets.writeOrNoun.has(own[0] ?? ''));

const isJoined = (all: readonly string[], index: number): boolean =>
  /^(?:and|or|then)$/.test(all[index - 1] ?? '');

/** `bash`, `run_command`, `execute_shell_command`: a shell word, and no word that names a purpose. */
export const isShellName = (own: readonly string[]): boolean =>
  own.some((word) => shellWords.has(word)) &&
  own.every((word) => shellWords.has(word) || shellCompanions.has(word));

const risks = Object.entries(toolNameWords.risk) as readonly [ToolRisk, readonly string[]][];

/** The first risk in the table that a word of the name stands for. */
export const riskOfWords = (own: readonly string[]): ToolRisk | undefined =>
  risks.find(([, list]) => own.some((word) => list.includes(word)))?.[0];

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(' '));
}
