export type { PersonName } from 'oidc-provider-impersonation'
export { type Console, createConsole } from './console.ts'
export type { Administrator, ConsoleOptions, ConsoleRight } from './options.ts'
