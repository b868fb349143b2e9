/** The rooms of `src`, and the packages beside it, each with the tests that hold its rules: those first that fail for most mutants, which saves time. */
import { globSync } from 'node:fs'

export interface Room {
  readonly mutate: readonly string[]
  readonly tests: readonly string[]
  /** Which of these tests run, by title. */
  readonly titles: string
  /** The code runs in a browser, so that which test reaches a mutant is not seen: each runs all of them. */
  readonly inBrowser?: true
}

/** A database server for every mutant is too slow: what holds a rule holds it on SQLite too. */
const WITHOUT_SERVERS = '/^(?!.*\\b(?:postgres|mysql|mariadb))/i'

const tests = (...names: readonly string[]): string[] => names.map((name) => `test/${name}.test.ts`)

const folder = (name: string, ...found: readonly string[]): Room => ({
  mutate: [`src/${name}/**/*.ts`],
  tests: tests(...found),
  titles: WITHOUT_SERVERS,
})

/** Of a package beside this one. */
const packaged = (name: string, ...found: readonly string[]): Room => ({
  mutate: [`packages/${name}/src/**/*.ts`],
  tests: found.map((file) => `packages/${name}/test/${file}.test.ts`),
  titles: WITHOUT_SERVERS,
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
      '{outage,refusals,plain-json,options,impersonation,ready}',
      'callbacks/call',
      'provider/{configuration,replay-detection}',
      'exchange/{granted-scope,policy,scope,reasons,quoted-input,spent-or-unspent,unstorable}',
      'on-behalf-of/door',
      'management/{outage,registration}',
      'status-lists/*',
      'exchange/events',
    ),
    titles: WITHOUT_SERVERS,
  },
  testing: folder('testing', 'testing/*'),
  client: packaged('client', '!(openapi)'),
  cli: {
    ...folder('cli', 'cli-{database-url,check-*}', 'cli-check', 'cli'),
    // The SQL of a dialect is printed without its server; a role and its rights are those of one.
    titles: '/^(?!.*\\b(?:postgres|mysql|mariadb))|prints the SQL of|names the rights/i',
  },
  exchange: folder('exchange', 'exchange/reasons', 'exchange/!(reasons)', 'on-behalf-of/*'),
  provider: folder(
    'provider',
    'exchange/{reasons,actor*,client-authentication}',
    'on-behalf-of/received-token',
    'provider/*',
    'exchange/{chain,delegation*,events,extra-token-claims,granted-scope,policy,quoted-input,replay,scope,sender}',
    'exchange/{spent-or-unspent,target,unstorable}',
    'management/{registration,resource}',
    'on-behalf-of/door',
    'status-lists/{http,list}',
    'options',
  ),
  'resource-server': packaged('resource-server', '!(anything|deployment|downstream|workers)'),
  management: folder('management', 'management/*', 'console/mount'),
  banner: { ...packaged('banner', 'banner'), mutate: ['packages/banner/src/banner.js'], inBrowser: true },
  console: folder('console', 'console/*'),
  sequelize: {
    mutate: [
      'src/sequelize/!(replay-record).ts',
      'src/sequelize/database/!(drivers|galera|mysql*|postgres*).ts',
    ],
    tests: tests(
      'sequelize/{batch,batches,contracts,dialects,fates,faults,node-sqlite,patience,plans,replays,sqlite-lock}',
      'sequelize/statements',
    ),
    // Only PostgreSQL moves its sequence by a statement of its own.
    titles: '/^(?!.*\\b(?:postgres|mysql|mariadb))|^on postgres end-unspent moves/i',
  },
  // Rights are those of a role on a server.
  schema: {
    mutate: ['src/sequelize/schema/*.ts'],
    tests: tests('sequelize/{dialects,schema,rights,contracts,plans}', 'ready'),
    titles:
      '/^(?:on sqlite (?:migrations|purge)|an option of migrate|.* to purge where|ready|the (?:schema|rights))/',
  },
  // Half of it is for SQLite and PostgreSQL, the other half for MySQL.
  records: {
    mutate: ['src/sequelize/replay-record.ts'],
    tests: tests('sequelize/contracts'),
    titles: '/^on (?:sqlite|mysql) adapter .*(?:record|ReplayDetection)/',
  },
  // No other test reaches these drivers.
  postgres: {
    mutate: ['src/sequelize/database/{drivers,postgres*}.ts'],
    tests: tests('sequelize/{fates,exclusive,schema,batches,plans,contracts,dialects,faults,rights,silence}'),
    titles:
      '/postgres|one turn, on (?:a )?sqlite|^an? |^the (?:dialect|schema|time limit|rights of a role (?!of))/i',
  },
  mysql: {
    mutate: ['src/sequelize/database/{galera,mysql*}.ts'],
    tests: tests(
      'sequelize/{fates,galera,exclusive,mysql-group,batches,plans,prepared-limit}',
      'sequelize/{contracts,dialects,faults,rights,silence}',
    ),
    titles: '/mysql|mariadb/i',
  },
}

/** The room that holds the file or files of this pattern. */
export const roomWith = (pattern: string): [name: string, room: Room] | undefined => {
  const files = globSync(pattern)
  return Object.entries(ROOMS).find(([, { mutate }]) =>
    mutate.flatMap((one) => globSync(one)).some((file) => files.includes(file)),
  )
}
