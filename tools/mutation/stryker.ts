import './mocha-names.ts'
import { Stryker } from '@stryker-mutator/core'
import type { Room } from './rooms.ts'

export type Mutant = Awaited<ReturnType<Stryker['runMutationTest']>>[number]

/** A database server for every mutant is too slow: what holds a rule holds it on SQLite too. */
const WITHOUT_SERVERS = '/^(?!.*\\b(?:postgres|mysql|mariadb))/i'

const NODE_ARGUMENTS = ['--import', import.meta.resolve('./mocha-names.ts')]

/** Measures in a copy of the repository, `coverage/mutants`, and leaves a page of every mutant in `coverage`. */
export const runRoom = (name: string, { mutate, tests }: Room, jobs: number): Promise<Mutant[]> =>
  new Stryker({
    mutate: [...mutate],
    plugins: [import.meta.resolve('@stryker-mutator/mocha-runner')],
    testRunner: 'mocha',
    testRunnerNodeArgs: NODE_ARGUMENTS,
    checkerNodeArgs: NODE_ARGUMENTS,
    mochaOptions: { spec: [...tests], grep: WITHOUT_SERVERS },
    coverageAnalysis: 'perTest',
    ignoreStatic: true,
    concurrency: jobs,
    timeoutMS: 20_000,
    dryRunTimeoutMinutes: 20,
    // TypeScript 7 has no JavaScript API; Node runs the mutants as they are.
    disableTypeChecks: false,
    tsconfigFile: 'no-tsconfig.json',
    tempDirName: 'coverage/mutants',
    cleanTempDir: 'always',
    ignorePatterns: ['coverage', 'dist', 'docs/images', 'test/browser/screenshots'],
    reporters: ['progress-append-only', 'html'],
    htmlReporter: { fileName: `coverage/mutation-${name}.html` },
    allowConsoleColors: false,
    thresholds: { break: null },
  }).runMutationTest()
