/** The health route (docs/protocol.md §2.5). */
import { expect } from 'chai'
import { send } from '../../fixtures/http.ts'
import { whileListening } from '../../fixtures/listening.ts'
import { changesNothing, lookAgain, recordUnchanged } from './expectations.ts'
import { fails, passes, works } from './given.ts'
import { requests } from './managing.ts'
import { answer, each, rowsOf, type Step, texts } from './rule.ts'

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
  texts(
    'M184',
    [
      ...['/api/health', '/probes', '/probes/subject-tokens', '/probes/status-lists/0', '/probes/health/'],
      '/probes/Health',
    ],
    (path) => [probes(path), isNotFound, changesNothing],
  ),
  rowsOf(['POST'])('M183, another method', {
    POST: [
      probes('/probes/health', 'POST'),
      answer(({ response: { status, headers } }) =>
        expect([status, headers.get('allow')]).to.deep.equal([405, 'GET, HEAD']),
      ),
      changesNothing,
    ],
  }),
  rowsOf(['by every router and handler'])('M185, at the same time', {
    'by every router and handler': [
      lookAgain,
      requests(async ({ setting }) => {
        const { impersonation, baseUrl } = setting
        const handler = impersonation.handler({ prefix: '/node', only: 'health' })
        const responses = await whileListening(handler, (other) => {
          const urls = [`${baseUrl}/probes/health`, `${other}/node/health`]
          return Promise.all([...urls, ...urls].map((url) => send(url)))
        })
        expect(responses.map(({ status, text }) => `${status}${text}`)).to.deep.equal(Array(4).fill('200'))
        return responses[1] ?? expect.fail()
      }),
      is(200),
      ({ calls }) => expect(calls.filter((call) => call === 'store.ready')).to.have.length(1),
      changesNothing,
    ],
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
