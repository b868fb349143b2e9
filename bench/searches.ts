/** Lists and kill switches, by what they search for. */
import { CLIENTS } from './deployment.ts'
import { CUSTOMER, HELPDESK } from './fill.ts'
import type { PreparedRequest } from './load.ts'
import { manage } from './requests.ts'

const LISTS = {
  list: {},
  'list by userId': { userId: CUSTOMER },
  'list by actorId, never acted': { actorId: 'stranger' },
  'list by clientId': { clientId: CLIENTS.application.client_id },
  'list by createdBy': { createdBy: HELPDESK },
  'list by createdBy and clientId': { createdBy: HELPDESK, clientId: CLIENTS.application.client_id },
  'list by state=revoked': { state: 'revoked' },
}

const KILL_SWITCHES = {
  'kill switch by actorId': { actorId: HELPDESK },
  'kill switch by createdBy': { createdBy: HELPDESK },
}

export type Search = keyof typeof LISTS | keyof typeof KILL_SWITCHES

/** What each row searches for, by the name of the row. */
const FILTERS: Readonly<Record<Search, Record<string, string>>> = { ...LISTS, ...KILL_SWITCHES }

export const SEARCHES = Object.keys(FILTERS) as readonly Search[]

export const isSearch = (row: string): row is Search => Object.hasOwn(FILTERS, row)

export const search = (row: Search, token: string): PreparedRequest =>
  manage(Object.hasOwn(KILL_SWITCHES, row) ? 'DELETE' : 'GET', FILTERS[row], token)
