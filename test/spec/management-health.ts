/** The health route (docs/protocol.md §2.5). */
import { expect } from 'chai'
import { send } from '../../fixtures/http.ts'
import { changesNothing, lookAgain, recordUnchanged } from './expectations.ts'
import { fails, passes, works } from './given.ts'
import { requests } from './managing.ts'
import { answer, each, rowsOf, type Step } from './rule.ts'

const probes = (path = '/probes/health', method = 'GET'): Step =>
  requests(({ setting }) => send(setting.baseUrl + path, { method }))

/** With nothing in it. */
const is = (status: number): Step =>
  answer(({ response: { headers, ...response } }) => {
    expect([response.status, response.text, headers.get('content-type')]).to.deep.equal([status, '', null])
    expect(headers.get('cache-control')).to.equal('no-store')
  })

const isNotFound = answer(({ response }) => expect(response.status).to.equal(404))

export const healthRules = [
  rowsOf(['GET', 'HEAD', 'the store is not ready'])('M183', {
    ...each(['GET', 'HEAD'], (method) => [
      lookAgain,
      probes('/probes/health', method),
      is(200),
      recordUnchanged,
    ]),
    'the store is not ready': [lookAgain, fails('store.ready'), probes(), is(503), changesNothing],
  }),
  rowsOf(['another router', 'another route'])('M184', {
    'another router': [probes('/api/health'), isNotFound, changesNothing],
    'another route': [probes('/probes/subject-tokens'), isNotFound, changesNothing],
  }),
  rowsOf(['a failure', 'a success'])('M185', {
    'a failure': [
      lookAgain,
      fails('store.ready', new Error('private')),
      probes(),
      is(503),
      ({ events }) =>
        expect(events).to.deep.equal([
          {
            name: 'impersonation.failed',
            payload: { door: 'health', status: 503, check: 'storage', reason: 'Error' },
          },
        ]),
      works('store.ready'),
      probes(),
      is(503),
      passes(1),
      probes(),
      is(200),
      recordUnchanged,
    ],
    'a success': [lookAgain, probes(), fails('store.ready'), probes(), is(200), changesNothing],
  }),
]
