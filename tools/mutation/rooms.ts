/** The rooms of `src`, each with the tests that hold its rules: those first that fail for most mutants, which saves time. */

export interface Room {
  readonly mutate: readonly string[]
  readonly tests: readonly string[]
}

const tests = (...names: readonly string[]): string[] => names.map((name) => `test/${name}.test.ts`)

const folder = (name: string, ...found: readonly string[]): Room => ({
  mutate: [`src/${name}/**/*.ts`],
  tests: tests(...found),
})

/** The smallest first. */
export const ROOMS: Readonly<Record<string, Room>> = {
  'subject-tokens': folder(
    'subject-tokens',
    'subject-tokens/*',
    'testing/*',
    'ready',
    'exchange/subject',
    'management/issue',
  ),
  callbacks: folder(
    'callbacks',
    'callbacks/*',
    'exchange/{claims*,extra-token-claims,policy}',
    'management/{functions,policy}',
  ),
  'status-lists': folder('status-lists', 'status-lists/*'),
  files: {
    mutate: ['src/*.ts'],
    tests: tests(
      '{options,plain-json,ready}',
      'status-lists/*',
      'management/{outage,registration}',
      'exchange/events',
      'provider/configuration',
    ),
  },
  testing: folder('testing', 'testing/*'),
  client: folder('client', 'client/*'),
  cli: folder('cli', 'cli', 'cli-*'),
  exchange: folder('exchange', 'exchange/reasons', 'exchange/!(reasons)', 'on-behalf-of/*'),
  provider: folder(
    'provider',
    'provider/*',
    'exchange/{actor*,sender,target,chain}',
    'on-behalf-of/{received-token,door}',
  ),
  'resource-server': folder('resource-server', 'resource-server/!(anything|deployment|downstream|workers)'),
  management: folder('management', 'management/*'),
  console: folder('console', 'console/*'),
  sequelize: folder(
    'sequelize',
    'sequelize/{batch,batches,contracts,dialects,fates,faults,node-sqlite,plans,replays,sqlite-lock}',
  ),
}
