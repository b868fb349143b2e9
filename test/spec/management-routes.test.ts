import { managementRouteRules } from './management-routes.ts'
import { declareCells } from './matrix.ts'

declareCells('M, routes', managementRouteRules)
