/** All checks, in the order they run: a check comes after the one it depends on. */
import type { Check } from './check.ts'
import { clientChecks } from './checks/client.ts'
import { chainChecks, delegationChecks } from './checks/delegation.ts'
import { dpopChecks } from './checks/dpop.ts'
import { errorChecks } from './checks/errors.ts'
import { jwtChecks } from './checks/jwt.ts'
import { metadataChecks } from './checks/metadata.ts'
import { mtlsChecks } from './checks/mtls.ts'
import { onBehalfOfChecks } from './checks/on-behalf-of.ts'
import { introspectionChecks, opaqueChecks } from './checks/opaque.ts'
import { requestChecks } from './checks/request.ts'
import { responseChecks } from './checks/response.ts'
import { scopeChecks } from './checks/scope.ts'
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
  ...dpopChecks,
  ...mtlsChecks,
  ...onBehalfOfChecks,
  ...metadataChecks,
]

/** The check whose failure makes all others meaningless. */
export const FIRST = 'request.accepted'
