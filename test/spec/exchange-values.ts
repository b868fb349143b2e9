/** The parameters that the token endpoint takes and refuses, just within and just beyond each rule (docs/protocol.md §3). */

import { expect } from 'chai'
import { API } from '../../fixtures/deployment.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { managementToken } from '../../fixtures/requests.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../src/constants.ts'
import { ready, send } from './exchanging.ts'
import {
  answers,
  because,
  changesNothing,
  invalidRequest,
  refused,
  refusedToken,
  spent,
  succeeds,
} from './expectations.ts'
import { on } from './given.ts'
import { answer, type Named, type Rule, rowsOf, type Steps, values } from './rule.ts'

const TYPE = 'urn:ietf:params:oauth:token-type'

/** What is refused with this text, and spends nothing: the plain request is taken afterwards. */
const refuses = (title: string, text: string, changed: Named<Parameters>): Rule =>
  values(title, changed, (changes) => [ready, send(changes), invalidRequest(text), send(), succeeds(), spent])

const named = (parameter: string): Steps => [
  answer(({ response }) => {
    expect([response.status, response.body.error]).to.deep.equal([400, 'invalid_request'])
    expect(response.body.error_description).to.include(parameter)
  }),
  because(null),
  changesNothing,
]

export const exchangeValueRules = [
  refuses('E6, blank', 'subject_token is required', { blank: { subject_token: '' } }),
  refuses('E7, blank', 'subject_token_type is required', { blank: { subject_token_type: '' } }),
  refuses('E7, another', 'subject_token_type is not supported', {
    jwt: { subject_token_type: `${TYPE}:jwt` },
    'in capitals': { subject_token_type: ACCESS_TOKEN_TYPE.toUpperCase() },
    'with a space after it': { subject_token_type: `${ACCESS_TOKEN_TYPE} ` },
  }),
  refuses('E9, alone', 'actor_token is required with actor_token_type', {
    'without the token': { actor_token_type: ACCESS_TOKEN_TYPE },
    'with a blank token': { actor_token: '', actor_token_type: ACCESS_TOKEN_TYPE },
  }),
  refuses('E9, without its type', 'actor_token_type is required with actor_token', {
    missing: { actor_token: 'x' },
    blank: { actor_token: 'x', actor_token_type: '' },
  }),
  refuses('E9, another', 'actor_token_type is not supported', {
    id_token: { actor_token: 'x', actor_token_type: `${TYPE}:id_token` },
  }),
  refuses('E10, another', 'requested_token_type is not supported', {
    refresh_token: { requested_token_type: `${TYPE}:refresh_token` },
    id_token: { requested_token_type: `${TYPE}:id_token` },
  }),
  values<Parameters>(
    'E13, any audience',
    {
      another: { audience: 'https://other.example.com' },
      'a space': { audience: ' ' },
      two: { audience: [API, API] },
      'in place of the resource': { audience: API, resource: null },
    },
    (changes) => [
      ready,
      send(changes),
      refused(400, 'invalid_target', 'audience is not supported: send resource instead'),
      send(),
      succeeds(),
      spent,
    ],
  ),
  refuses('E14, what holds nothing', 'authorization_details is not supported', {
    'an empty list': { authorization_details: '[]' },
    'a space': { authorization_details: ' ' },
  }),
  values('E14, where the provider drops an empty list', { '[]': '[]' }, (authorization_details) => [
    on('with rich authorization requests'),
    ready,
    send({ authorization_details }),
    invalidRequest('authorization_details is not supported'),
    send(),
    succeeds(),
    spent,
  ]),
  values('E15, blank', { authorization_details: { authorization_details: '' } }, (changes) => [
    send(changes),
    succeeds(),
    spent,
  ]),
  values<readonly string[]>(
    'E16, each parameter',
    {
      grant_type: [TOKEN_EXCHANGE, TOKEN_EXCHANGE],
      client_id: ['spa', 'spa'],
      subject_token_type: [ACCESS_TOKEN_TYPE, ACCESS_TOKEN_TYPE],
      actor_token: ['one', 'two'],
      actor_token_type: [ACCESS_TOKEN_TYPE, ACCESS_TOKEN_TYPE],
      requested_token_type: [ACCESS_TOKEN_TYPE, ACCESS_TOKEN_TYPE],
      authorization_details: ['[]', '[]'],
    },
    (twice, parameter) => [ready, send({ client_id: 'spa', [parameter]: [...twice] }), named(parameter)],
  ),
  values('E16, although one is valid', { subject_token: 2 }, (count) => [
    ready,
    send(({ subjectToken }) => ({ subject_token: Array(count).fill(subjectToken) })),
    named('subject_token'),
  ]),
  values('E17, unknown', { several: { claims: '{}', userId: 'bob', act: 'x' } }, (changes) => [
    send(changes),
    succeeds(),
    spent,
  ]),
  values('E5, a body in JSON', { JSON: 'application/json' }, (type) => [
    ready,
    send({}, { headers: { 'content-type': type } }),
    answers(400, 'invalid_request'),
    because(null),
    changesNothing,
  ]),
  rowsOf(['as a subject token'])('E40, a management token', {
    'as a subject token': [
      on('without onBehalfOf'),
      ready,
      send(async ({ setting }) => ({ subject_token: await managementToken(setting) })),
      refusedToken('malformed'),
    ],
  }),
]
