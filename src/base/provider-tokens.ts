/** Tokens that are recognized by their prefix and format. */

const source = String.raw;

type Row = readonly [whose: string, beginning: string, rest: string];

/** The prefixes are rare in other texts; the rest makes it a token. */
const rows: readonly Row[] = [
  ['DigitalOcean', 'do[opr]_v1_', '[a-f0-9]{64}'],
  ['Shopify', 'shp(?:at|ca|pa|ss)_', '[a-fA-F0-9]{32}'],
  ['Linear', 'lin_(?:api|oauth)_', '[A-Za-z0-9]{32,}'],
  ['Notion', '(?:secret|ntn)_', '[A-Za-z0-9]{40,}'],
  ['Groq', 'gsk_', '[A-Za-z0-9]{40,}'],
  ['Replicate', 'r8_', '[A-Za-z0-9]{36,}'],
  ['Pinecone', 'pcsk_', source`\w{40,}`],
  ['LangSmith', 'lsv2_(?:pt|sk)_', source`\w{30,}`],
  ['Supabase', '(?:sbp|sb_secret)_', source`[\w-]{20,}`],
  ['Hugging Face', 'api_org_', '[A-Za-z0-9]{34}'],
  ['Docker', 'dckr_[po]at_', source`[\w-]{20,}`],
  ['RubyGems', 'rubygems_', '[a-f0-9]{48}'],
  ['Razorpay', 'rzp_(?:live|test)_', '[A-Za-z0-9]{14,}'],
  ['ClickUp', source`pk_\d{5,9}_`, '[A-Z0-9]{32}'],
  ['Buildkite', 'bkua_', '[a-f0-9]{40}'],
  ['Grafana', 'gl(?:sa|c)_', source`[\w=+/]{32,}`],
  ['Sentry', 'sntry[su]_', source`[\w=+/]{40,}`],
  ['Figma', 'figd_', source`[\w-]{40,}`],
  ['Netlify', 'nfp_', '[A-Za-z0-9]{36,}'],
  ['Render', 'rnd_', '[A-Za-z0-9]{28,}'],
  ['Fly', 'fm[12]_', source`[\w+/=-]{100,}`],
  ['PlanetScale', 'pscale_(?:tkn|oauth|pw)_', source`[\w.-]{32,}`],
  ['1Password', 'ops_eyJ', source`[\w-]{100,}`],
  ['Databricks', 'dapi', source`[a-f0-9]{32}(?:-\d)?`],
  ['Vault', source`hv[sbr]\.`, source`[\w-]{20,}`],
  ['Doppler', source`dp\.(?:pt|st|ct|sa|scim|audit)\.`, source`(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,44}`],
  ['Telegram', source`\d{8,10}:AA`, source`[\w-]{33}`],
  ['Discord', source`[MNO][\w-]{23,27}\.(?=[\w-]{6}\.)`, source`[\w-]{6}\.[\w-]{27,}`],
  ['Terraform', source`[A-Za-z0-9]{14}\.atlasv1\.`, source`[\w=-]{60,}`],
  ['Airtable', source`pat[A-Za-z0-9]{14}\.`, '[a-f0-9]{64}'],
  ['Mapbox', source`sk\.eyJ`, source`[\w-]{20,}\.[\w-]{20,}`],
  ['Dropbox', source`sl\.(?:u\.)?`, source`[\w-]{100,}`],
  ['Azure', source`[\w~.-]{3}\dQ~`, source`[\w~.-]{31,34}`],
  ['Mailgun', 'key-', '[0-9a-f]{32}(?![0-9a-f])'],
  ['Mailchimp', '[0-9a-f]{32}-us', source`\d{1,2}(?!\w)`],
  ['Atlassian', 'AT(?:ATT|CTT|BB)', source`[\w=-]{20,}`],
  ['Twilio', 'SK(?=[0-9a-f]{32})', '[0-9a-f]{32}(?![0-9a-f])'],
  ['age', 'AGE-SECRET-KEY-1', '[0-9A-Z]{50,}'],
  ['AWS session', '(?:FwoGZXIvYXdz|IQoJb3JpZ2lu)', '[A-Za-z0-9+/=]{50,}'],
  ['AWS Bedrock', 'ABSK(?=[A-Za-z0-9+/]{60})', '[A-Za-z0-9+/]{60,}={0,2}'],
  ['AWS access key', 'A(?:BIA|CCA)(?=[A-Z0-9]{16})', '[A-Z0-9]{16}(?![A-Z0-9])'],
  ['xAI', 'xai-', '[A-Za-z0-9]{60,}'],
  ['Perplexity', 'pplx-', '[A-Za-z0-9]{40,}'],
  ['Tavily', 'tvly-', source`[\w-]{28,}`],
  ['Postman', 'PMAK-', '[a-f0-9-]{50,}'],
  ['New Relic', 'NRAK-', '[A-Z0-9]{27}'],
  ['Square', 'sq0(?:atp|csp|idp)-', source`[\w-]{22,}`],
  ['Contentful', 'CFPAT-', source`[\w-]{40,}`],
  ['HubSpot', source`pat-(?:na|eu)\d-`, '[0-9a-f-]{36}'],
  ['Pulumi', 'pul-', '[a-f0-9]{40}'],
  ['Brevo', 'xkeysib-', '[a-f0-9]{64}'],
  ['Slack', 'xoxd-', source`[\w%+/-]{20,}`],
  ['Facebook', 'EAA(?=[A-Za-z0-9]{80})', '[A-Za-z0-9]{80,}'],
  ['NuGet', 'oy2(?=[a-z0-9]{43})', '[a-z0-9]{43}(?![a-z0-9])'],
];

const boundary = '(?<![A-Za-z0-9])';

export const providerTokens: RegExp = new RegExp(
  `${boundary}(?:${rows.map(([, beginning, rest]) => `${beginning}${rest}`).join('|')})`,
);

/** Pattern source that matches every text with such a token. */
export const providerHint: string = `${boundary}(?:${rows.map(([, beginning]) => beginning).join('|')})`;
