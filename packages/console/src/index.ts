export { type Console, createConsole } from './console.ts'
export type { Administrator, ConsoleOptions, ConsoleRight, PersonName } from './options.ts'
