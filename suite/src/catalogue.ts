/** All checks, in the order they run: a check comes after the one it depends on. */
import type { Check } from './check.ts'
import { introspectionChecks, jwtChecks, opaqueChecks } from './checks/access-token.ts'
import { chainChecks, delegationChecks } from './checks/delegation.ts'
import { errorChecks } from './checks/errors.ts'
import { metadataChecks } from './checks/metadata.ts'
import { onBehalfOfChecks } from './checks/on-behalf-of.ts'
import { clientChecks, requestChecks } from './checks/request.ts'
import { responseChecks } from './checks/response.ts'
import { scopeChecks } from './checks/scope.ts'
import { senderChecks } from './checks/sender.ts'
import { singleUseChecks } from './checks/single-use.ts'
import { targetChecks } from './checks/target.ts'
import { actorChecks, subjectChecks } from './checks/tokens.ts'

export const CATALOGUE: readonly Check[] = [
  ...requestChecks,
  ...clientChecks,
  ...responseChecks,
  ...errorChecks,
  ...subjectChecks,
  ...singleUseChecks,
  ...delegationChecks,
  ...actorChecks,
  ...chainChecks,
  ...targetChecks,
  ...scopeChecks,
  ...jwtChecks,
  ...opaqueChecks,
  ...introspectionChecks,
  ...senderChecks,
  ...onBehalfOfChecks,
  ...metadataChecks,
]

/** The check whose failure makes all others meaningless. */
export const FIRST = 'request.accepted'
