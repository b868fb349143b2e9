/** `npm run suite` in this repository: the command line of the package, and the self-test, which is not published. */

import { selfTest } from './naive/self-test.ts'
import { commandLine } from './src/command-line.ts'

const args = process.argv.slice(2)
process.exitCode = args.includes('--selftest') ? await selfTest() : await commandLine(args)
