/** The requests of the flow as they went over the wire. */
import { element } from '../element.js'

/** By the end of the path. */
const STEPS = [
  [/\/request-impersonation$/, 'The page asks the backend for a subject token'],
  [/\/token$/, 'The page exchanges it for an access token'],
  [/\/orders$/, "The page reads the customer's orders from the API"],
  [/\/profile$/, 'The same for the profile'],
  [/\/invoice$/, 'The same for an invoice'],
]

export function wirePanel({ entries }) {
  const heading = element('h2', {}, 'On the wire')
  const hint = element('p', {}, 'Tokens are truncated: you can recognise them, not use them.')
  return element(
    'section',
    { className: 'panel', 'aria-label': 'On the wire' },
    heading,
    hint,
    ...entries.map(exchanged),
  )
}

function exchanged({ method, url, request, status, statusText, response }, index) {
  const { pathname } = new URL(url)
  const [, step] = STEPS.find(([path]) => path.test(pathname)) ?? [undefined, 'A request']
  return element(
    'details',
    { className: 'exchanged' },
    element(
      'summary',
      {},
      element('span', {}, `${index + 1}. ${step}`),
      element('code', {}, `${method} ${pathname}`),
      element('span', { className: `pill ${status < 400 ? 'live' : 'alarm'}` }, `${status}`),
    ),
    element('h3', {}, 'Request'),
    element('pre', {}, `${method} ${url}\n${request}`),
    element('h3', {}, 'Response'),
    element('pre', {}, `${status} ${statusText}\n${response}`),
  )
}
