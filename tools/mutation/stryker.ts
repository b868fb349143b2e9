import './mocha-names.ts'
import { globSync } from 'node:fs'
import { Stryker } from '@stryker-mutator/core'
import type { Room } from './rooms.ts'

export type Mutant = Awaited<ReturnType<Stryker['runMutationTest']>>[number]

const OF_CHECKER = ['--import', import.meta.resolve('./mocha-names.ts')]
const OF_RUNNER = [...OF_CHECKER, '--import', import.meta.resolve('./before-hooks.ts')]

/** Measures in a copy of the repository, `coverage/mutants`, and leaves a page of every mutant in `coverage`. */
export const runRoom = (name: string, { mutate, tests, titles }: Room, jobs: number): Promise<Mutant[]> =>
  new Stryker({
    mutate: [...mutate],
    plugins: [import.meta.resolve('@stryker-mutator/mocha-runner')],
    testRunner: 'mocha',
    testRunnerNodeArgs: OF_RUNNER,
    checkerNodeArgs: OF_CHECKER,
    // Mocha itself finds no file by a pattern that has braces and nothing else.
    mochaOptions: { spec: tests.flatMap((pattern) => globSync(pattern).sort()), grep: titles },
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
